package app

import (
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/tokens"
)

// logSettings say what is logged and how.
type logSettings struct {
	LogLevel  string `setting:"FLOWGATE_LOG_LEVEL" default:"info" help:"Least level that is logged: debug, info, warn or error."`
	LogFormat string `setting:"FLOWGATE_LOG_FORMAT" default:"auto" help:"json, console, or auto: console on a terminal, else json."`
}

const (
	settingLogLevel  = "FLOWGATE_LOG_LEVEL"
	settingLogFormat = "FLOWGATE_LOG_FORMAT"
)

// logger writes to w, from which whatever looks like a token is kept.
func (s logSettings) logger(w io.Writer) (zerolog.Logger, error) {
	levels := map[string]zerolog.Level{
		"debug": zerolog.DebugLevel, "info": zerolog.InfoLevel, "warn": zerolog.WarnLevel, "error": zerolog.ErrorLevel,
	}
	level, known := levels[s.LogLevel]
	if !known {
		return zerolog.Nop(), setting(settingLogLevel, "must be debug, info, warn or error")
	}
	// The scrubber takes whole lines: it stands behind what makes a line of an event.
	clean := zerolog.SyncWriter(tokens.ScrubWriter(w))
	var out io.Writer
	switch {
	case s.LogFormat == "json", s.LogFormat == "auto" && !isTerminal(w):
		out = clean
	case s.LogFormat == "console", s.LogFormat == "auto":
		out = zerolog.ConsoleWriter{Out: clean, TimeFormat: time.TimeOnly, NoColor: !isTerminal(w)}
	default:
		return zerolog.Nop(), setting(settingLogFormat, "must be json, console or auto")
	}
	return zerolog.New(out).Level(level).With().Timestamp().Logger(), nil
}

// isTerminal says whether a person watches.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
