package client

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
)

// NewID makes an ID for a run or a message: a UUIDv7 (RFC 9562) of the client's clock and randomness. Error: that of
// Options.Random.
func (c *Client) NewID() (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(c.options.Random, b[6:]); err != nil {
		return "", fmt.Errorf("make an ID: %w", err)
	}
	var at [8]byte
	binary.BigEndian.PutUint64(at[:], uint64(c.options.Clock().UnixMilli()))
	copy(b[:6], at[2:])
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	text := hex.EncodeToString(b[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:], nil
}

// identity is the ID that a caller names, or one that is made here.
func (c *Client) identity(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	return c.NewID()
}
