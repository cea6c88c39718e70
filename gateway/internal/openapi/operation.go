package openapi

// Operation is one method of one path.
type Operation struct {
	Method, Path string // the path has its parameters in braces
	ID, Summary  string
	Tag          string
	// Scopes are what a credential needs; nil for a route that has another credential, or none, which Open says.
	Scopes []string
	// PathNotes describe parameters of the path, by name.
	PathNotes map[string]string
	Query     []Parameter
	Header    []Parameter
	Body      *Body
	Answers   []Answer
	Problems  []Problem
	// HTML says that the route is for people, who get refusals as pages.
	HTML bool
}

// Parameter is one of the query or of the header.
type Parameter struct {
	Name, About string
	Repeated    bool
	Required    bool
}

// Body is a request's.
type Body struct {
	Media    string // application/json unless it says otherwise
	Of       any    // a value of its type; nil: any JSON
	Required bool
}

// Answer is one status with the bodies that it may have. A body is a value of its type; Any is one of every type.
type Answer struct {
	Status  int
	About   string
	Media   string // application/json unless it says otherwise
	Of      []any  // nil: no body
	Headers map[string]string
}

// Any stands for a body that is any JSON.
type Any struct{}

// Text stands for a body that is text.
type Text struct{}

// WithVerdict is the object of a value with a verdict beside its members.
type WithVerdict struct{ Value any }

// Problem is a refusal that a route may give.
type Problem struct {
	Status      int
	Code, Title string
}

// Info is what a description says of the whole.
type Info struct {
	Title, Version, Description string
	// Problem is a value of the type of refusals' bodies, and Verdicts are the words of its verdict and of every other.
	Problem  any
	Verdicts []string
}
