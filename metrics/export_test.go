package metrics

// Labelled are the names of all series, with those of their labels.
func Labelled() map[string][]string { return labelled }
