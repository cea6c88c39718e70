package planted

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Fault is one way to break the program.
type Fault struct {
	Name     string // of its file
	Says     string // what is broken, in a sentence
	Run      string // the command that has to fail
	Replaces []Replacement
}

// Replacement is lines of a file and what they are broken to.
type Replacement struct{ File, Is, Becomes string }

// The marks of a fault's file.
const (
	markIs, markBecomes, markEnd = "<<<<", "====", ">>>>"
	fieldFile, fieldRun          = "file: ", "run: "
)

// Load reads the faults of a folder, in the order of their names.
func Load(folder string) ([]Fault, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	all := make([]Fault, 0, len(names))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
		f.Name = strings.TrimSuffix(filepath.Base(name), ".txt")
		all = append(all, f)
	}
	return all, nil
}

func parse(text string) (Fault, error) {
	var f Fault
	var file string
	var into *string
	for line := range strings.Lines(text) {
		bare := strings.TrimSuffix(line, "\n")
		switch {
		case bare == markIs && into == nil:
			f.Replaces = append(f.Replaces, Replacement{File: file})
			into = &f.Replaces[len(f.Replaces)-1].Is
		case bare == markBecomes && into != nil:
			into = &f.Replaces[len(f.Replaces)-1].Becomes
		case bare == markEnd:
			into = nil
		case into != nil:
			*into += line
		case strings.HasPrefix(bare, fieldFile):
			file = strings.TrimPrefix(bare, fieldFile)
		case strings.HasPrefix(bare, fieldRun):
			f.Run = strings.TrimPrefix(bare, fieldRun)
		case bare != "":
			f.Says = strings.TrimSpace(f.Says + " " + bare)
		}
	}
	if into != nil || f.Says == "" || !strings.HasPrefix(f.Run, "go test ") || len(f.Replaces) == 0 {
		return f, fmt.Errorf("wants a sentence, %q a go test, and at least one whole replacement", fieldRun)
	}
	return f, nil
}

// Apply returns the files of the program under root as the fault makes them, by path. It fails when what a replacement
// expects is not in its file exactly once.
func (f Fault) Apply(root string) (map[string]string, error) {
	broken := map[string]string{}
	for _, r := range f.Replaces {
		path := filepath.Join(root, filepath.FromSlash(r.File))
		text, ok := broken[path]
		if !ok {
			raw, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			text = string(raw)
		}
		if n := strings.Count(text, r.Is); n != 1 || r.Is == "" {
			return nil, fmt.Errorf("%s has these lines %d times, not once:\n%s", r.File, n, r.Is)
		}
		broken[path] = strings.Replace(text, r.Is, r.Becomes, 1)
	}
	return broken, nil
}
