package page

import (
	"bytes"
	_ "embed" // of the template and the style sheet
	"html/template"
	"time"
)

// Style is the one style sheet of all pages.
//
//go:embed page.css
var Style []byte

// Page is one page. Texts of people and of workflows may have any content: drawing makes them harmless. Titles, the text of an
// End, the rule and the nonce are our own words.
type Page struct {
	Notice *Notice // what became of a request; nil: nothing to say
	Ask    *Ask    // what there is to decide; nil: nothing may be shown
	Form   *Form   // nil: there is nothing to do
	End    *End    // nil: it is open
}

// Notice is said above everything else.
type Notice struct {
	Title string
	Text  string
	Bad   bool // somebody has to do something about it
}

// Ask is what there is to decide.
type Ask struct {
	Subject     string
	Description string
	Requester   string // empty: nobody is named
	Recipient   string
	Rule        string // such as "1 of 3"; empty: none was declared
	Facts       []Fact
	Labels      []Fact
	Deadline    *time.Time
	Now         time.Time
	Run, Hook   string
}

// Fact is one named value. Many says that the value has lines of its own.
type Fact struct {
	Name, Value string
	Many        bool
}

// Form is what the recipient may send.
type Form struct {
	Nonce   string
	Comment string
	Missing bool     // a decision was to be chosen and was not
	Confirm *Confirm // the decision is asked for once more
}

// Confirm is a decision that was chosen.
type Confirm struct{ Approve bool }

// Word is what the form sends for the decision.
func (c Confirm) Word() string {
	if c.Approve {
		return "approve"
	}
	return "reject"
}

// End says how the question ended.
type End struct {
	Title   string // "Approved", "Expired", …
	Text    string
	By      string // who decided; empty: not known, or not to be shown
	Own     bool   // the recipient did
	At      *time.Time
	Comment string
	Good    bool // it was approved
	Bad     bool // it was rejected
}

//go:embed page.html
var source string

var drawing = template.Must(template.New("page").Funcs(template.FuncMap{
	"visible": Visible, "moment": moment, "stamp": stamp, "until": until,
}).Parse(source))

// Draw gives the HTML of a page. It fails only on a fault of the template.
func Draw(p Page) ([]byte, error) {
	var out bytes.Buffer
	if err := drawing.Execute(&out, p); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
