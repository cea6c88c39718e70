package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/app"
)

// Settings of a process of the soak, beside those of Flowgate.
const (
	settingFixed = "SOAK_FIXED" // not empty: the deployment in which the broken workflows are mended
	settingClock = "SOAK_CLOCK" // how far the clock of the process is ahead, a Go duration
)

// isProgram says that the arguments are those of a command of Flowgate, such as serve.
func isProgram(args []string) bool { return len(args) > 1 && !strings.HasPrefix(args[1], "-") }

// program is Flowgate with the workflows of the soak, as a host makes it. It ends with the process that started it, whose
// end closes standard input.
func program() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	p := app.Program{Registrations: registrations(os.Getenv(settingFixed) != "")}
	if text := os.Getenv(settingClock); text != "" {
		ahead, err := time.ParseDuration(text)
		if err != nil {
			fmt.Fprintln(os.Stderr, "soak:", err)
			os.Exit(2)
		}
		p.Clock = func() time.Time { return time.Now().Add(ahead) }
	}
	p.Main()
}
