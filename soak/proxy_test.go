package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
)

// backendMessage is a message of a server.
func backendMessage(kind byte, text string) string {
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(text)+4))
	return string(head) + text
}

// A deaf proxy takes notifications out of the stream and nothing else, wherever they stand and however long they are.
func TestProxyDropsNotificationsOnly(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("A", 200_000)
	row, ready := backendMessage('D', "A"+long), backendMessage('Z', "I")
	heard := backendMessage(notification, "\x00\x00\x00\x07flowgate\x00x\x00")
	all := heard + row + heard + ready + heard
	for deaf, want := range map[bool]string{true: row + ready, false: all} {
		p := &proxy{}
		p.deaf.Store(deaf)
		var got bytes.Buffer
		if err := p.carry(&got, strings.NewReader(all)); !errors.Is(err, io.EOF) {
			t.Errorf("deaf %v: %v, want the end of the stream", deaf, err)
		}
		if got.String() != want {
			t.Errorf("deaf %v: %d bytes went through, want %d", deaf, got.Len(), len(want))
		}
		if dropped := p.dropped.Load(); deaf != (dropped == 3) {
			t.Errorf("deaf %v: %d dropped", deaf, dropped)
		}
	}
}
