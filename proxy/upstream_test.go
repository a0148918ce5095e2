package proxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/understudy-ai/understudy/internal/chat"
)

// serveConns handles each connection to a free port until the test ends.
func serveConns(t *testing.T, handle func(net.Conn)) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			running.Go(func() { handle(conn); conn.Close() })
		}
	})
	t.Cleanup(func() { ln.Close(); running.Wait() })
	return ln.Addr().String()
}

func startUpstream(t *testing.T, cfg UpstreamConfig) *upstream {
	t.Helper()
	u, err := newUpstream(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.close)
	return u
}

// upload sends a body that is a stream, and returns the answer.
func (u *upstream) upload(body io.Reader, size int) (string, error) {
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	req.Header.SetMethod(http.MethodPost)
	u.address(req, "/files")
	req.SetBodyStream(body, size)
	resp, err := u.do(req, &canceller{})
	if err != nil {
		return "", err
	}
	defer resp.Close()
	answer, err := readAnswer(resp)
	return string(answer), err
}

// TestUploadOnStaleConnection holds that a body that can't be sent twice is
// not begun on a connection that the upstream has closed meanwhile.
func TestUploadOnStaleConnection(t *testing.T) {
	closed := make(chan struct{})
	address := serveConns(t, func(conn net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(conn))
		if err == nil {
			_, err = io.Copy(io.Discard, req.Body)
		}
		if err == nil {
			_, err = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
		if err = errors.Join(err, conn.Close()); err != nil {
			t.Error(err)
		}
		closed <- struct{}{}
	})
	u := startUpstream(t, UpstreamConfig{BaseURL: "http://" + address + "/v1", MaxConns: 1, Connect: time.Minute, FirstByte: time.Minute, Idle: time.Minute})
	for range 3 {
		got, err := u.upload(strings.NewReader("hello"), 5)
		if err != nil || got != "ok" {
			t.Fatalf("got %q, %v; want ok", got, err)
		}
		<-closed
	}
}

// TestSilentHandshake holds that connecting includes the TLS handshake.
func TestSilentHandshake(t *testing.T) {
	address := serveConns(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }) // until the other side goes
	u := startUpstream(t, UpstreamConfig{BaseURL: "https://" + address, MaxConns: 1, Connect: 100 * time.Millisecond, FirstByte: time.Hour, Idle: time.Hour})
	_, err := u.upload(strings.NewReader("hello"), 5)
	if _, e := upstreamError(err); !errors.Is(err, errUnreachable) || e.Code != chat.CodeConnectTimeout {
		t.Errorf("got %v, which clients see as %s; want %v and %s", err, e.Code, errUnreachable, chat.CodeConnectTimeout)
	}
}
