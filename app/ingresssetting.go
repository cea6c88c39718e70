package app

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/flowgate-go/flowgate/ingress"
	"github.com/flowgate-go/flowgate/spec"
)

const (
	settingIngressFile = "FLOWGATE_INGRESS_FILE"
	settingInboxRoom   = "FLOWGATE_INBOX_MESSAGES"
	settingInboxKeep   = "FLOWGATE_INBOX_KEEP"
)

const (
	maxInboxRoom = 1_000_000
	maxInboxKeep = 90 * 24 * time.Hour
)

// sourceSetting says who sends signed webhooks.
type sourceSetting struct {
	IngressFile string `setting:"FLOWGATE_INGRESS_FILE" placeholder:"PATH" help:"JSON file with the sources of signed webhooks and their secrets; nobody else may read it."`
}

// sources reads the file; nil when there is none. Refusals name the place in it, never a value.
func (s sourceSetting) sources() (*ingress.Config, error) {
	if s.IngressFile == "" {
		return nil, nil
	}
	text, err := readPrivate(s.IngressFile)
	if _, unreadable := errors.AsType[*fs.PathError](err); unreadable {
		return nil, setting(settingIngressFile, fmt.Sprintf("cannot be read: %v", err))
	} else if err != nil {
		return nil, setting(settingIngressFile, err.Error())
	}
	c, err := ingress.Parse([]byte(text))
	if bad, ok := errors.AsType[*spec.InvalidError](err); ok {
		return nil, setting(settingIngressFile, "/"+bad.Field+" "+bad.Rule)
	}
	return c, err
}

// ingressSettings are those of a gateway that takes webhooks in.
type ingressSettings struct {
	sourceSetting
	InboxMessages string `setting:"FLOWGATE_INBOX_MESSAGES" default:"10000" help:"How many messages of a source may wait for their run or be dead letters, 1 to 1000000; then its sender is told to come again."`
	InboxKeep     string `setting:"FLOWGATE_INBOX_KEEP" default:"168h" help:"How long messages stay in the inbox after they were delivered or discarded, 1h to 2160h; longer than senders send again."`
}

// inboxParts are what an inbox is made of beside the engine and the database.
type inboxParts struct {
	sources *ingress.Config // nil: there are none
	room    int
	keep    time.Duration
}

// inboxParts checks the settings.
func (s ingressSettings) inboxParts() (p inboxParts, err error) {
	if p.sources, err = s.sources(); err != nil {
		return p, err
	}
	if p.room, err = parseWhole(settingInboxRoom, s.InboxMessages, 1, maxInboxRoom); err != nil {
		return p, err
	}
	p.keep, err = parseSpan(settingInboxKeep, s.InboxKeep, time.Hour, maxInboxKeep)
	return p, err
}
