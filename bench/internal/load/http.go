package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// maxBody bounds the body of an answer in bytes.
const maxBody = 8 << 20

// Conn is a keep-alive HTTP/1.1 connection for one client. It knows just enough of the protocol to put a server under
// load without costing as much as the server does: requests with a length, answers with a length or in chunks. It is
// not safe for concurrent use.
type Conn struct {
	address string
	fixed   []byte // header lines of every request
	conn    net.Conn
	in      *bufio.Reader
	out     []byte
	body    []byte
}

// Dial connects to host:port. Headers are whole header lines, each with its line end, that every request gets.
func Dial(ctx context.Context, address, headers string) (*Conn, error) {
	c := &Conn{address: address, fixed: []byte("Host: " + address + "\r\n" + headers)}
	return c, c.connect(ctx)
}

func (c *Conn) connect(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.address)
	if err != nil {
		return err
	}
	c.conn, c.in = conn, bufio.NewReader(conn)
	return nil
}

// Close ends the connection.
func (c *Conn) Close() error {
	if c.conn == nil {
		return nil
	}
	return c.conn.Close()
}

// Do sends one request and returns the status and the body of its answer, which is valid until the next request. A
// server may close a connection that was idle, so a request that found it closed is sent once more on a new one: send
// only what may arrive twice. The whole takes at most as long as within says.
func (c *Conn) Do(ctx context.Context, method, path string, body []byte, within time.Duration) (int, []byte, error) {
	fresh := c.conn == nil
	if fresh {
		if err := c.connect(ctx); err != nil {
			return 0, nil, err
		}
	}
	status, err := c.once(method, path, body, within)
	if err != nil && !fresh && closed(err) && ctx.Err() == nil {
		_ = c.conn.Close()
		if err := c.connect(ctx); err != nil {
			return 0, nil, err
		}
		status, err = c.once(method, path, body, within)
	}
	if err != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
	return status, c.body, err
}

// errClosed is a connection that ended before the first byte of an answer.
var errClosed = errors.New("the server closed the connection")

func closed(err error) bool {
	var op *net.OpError
	return errors.Is(err, errClosed) || errors.As(err, &op) && !op.Timeout()
}

func (c *Conn) once(method, path string, body []byte, within time.Duration) (int, error) {
	if err := c.conn.SetDeadline(time.Now().Add(within)); err != nil {
		return 0, err
	}
	c.out = append(c.out[:0], method...)
	c.out = append(append(append(c.out, ' '), path...), " HTTP/1.1\r\n"...)
	c.out = append(c.out, c.fixed...)
	if body != nil {
		c.out = append(c.out, "Content-Type: application/json\r\nContent-Length: "...)
		c.out = append(strconv.AppendInt(c.out, int64(len(body)), 10), "\r\n"...)
	}
	c.out = append(append(c.out, "\r\n"...), body...)
	if _, err := c.conn.Write(c.out); err != nil {
		return 0, err
	}
	return c.answer()
}

// answer reads one answer into c.body.
func (c *Conn) answer() (status int, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		if len(line) == 0 && errors.Is(err, io.EOF) {
			return 0, errClosed
		}
		return 0, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return 0, errors.New("the answer is not HTTP/1")
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, errors.New("the answer has no status")
	}
	length, last, err := c.headers()
	if err != nil {
		return 0, err
	}
	c.body = c.body[:0]
	if length < 0 {
		err = c.chunks()
	} else {
		err = c.take(length)
	}
	if err == nil && last {
		err, c.conn = c.conn.Close(), nil
	}
	return status, err
}

// headers reads the header lines: the length of the body, or -1 for chunks, and whether the connection ends.
func (c *Conn) headers() (length int, last bool, err error) {
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, false, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return length, last, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 {
				return 0, false, errors.New("the answer has no good length")
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			length = -1
		case bytes.EqualFold(name, []byte("Connection")):
			last = bytes.EqualFold(value, []byte("close"))
		}
	}
}

// take reads n bytes of body.
func (c *Conn) take(n int) error {
	from := len(c.body)
	if from+n > maxBody {
		return fmt.Errorf("the answer has more than %d bytes", maxBody)
	}
	c.body = append(c.body, make([]byte, n)...)
	_, err := io.ReadFull(c.in, c.body[from:])
	return err
}

func (c *Conn) chunks() error {
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(";"))
		n, err := strconv.ParseUint(string(size), 16, 32)
		if err != nil {
			return errors.New("the answer has a bad chunk")
		}
		if err := c.take(int(n)); err != nil {
			return err
		}
		if _, err := c.in.Discard(2); err != nil || n == 0 {
			return err // without trailers the empty line after the last chunk ends the answer
		}
	}
}
