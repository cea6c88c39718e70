package gateway

import "testing"

func TestIsJSON(t *testing.T) {
	t.Parallel()
	for contentType, want := range map[string]bool{
		"application/json":                            true,
		"Application/JSON":                            true,
		"application/json; charset=utf-8":             true,
		`application/json;charset="UTF-8"`:            true,
		"application/cloudevents+json":                true,
		"application/vnd.github.v3+json; version=1":   true,
		"application/json; charset=iso-8859-1":        false,
		"application/json; charset=utf-8; charset=a":  false,
		"application/+json":                           false,
		"application/jsonp":                           false,
		"application/json-seq":                        false,
		"application/xml":                             false,
		"text/json":                                   false,
		"text/plain":                                  false,
		"application/x-www-form-urlencoded":           false,
		"multipart/form-data; boundary=x":             false,
		"application/json, text/plain":                false,
		"json":                                        false,
		"application/json;":                           true,
		"application/json; charset":                   false,
		"application/problem+json; charset=utf-16":    false,
		"application/problem+json; profile=\"a;b\"":   true,
		"application/json; charset=utf-8\tjunk;other": false,
	} {
		if got := isJSON(contentType); got != want {
			t.Errorf("%q: got %v, want %v", contentType, got, want)
		}
	}
}
