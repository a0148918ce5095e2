package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// pair returns the two ends of a TCP connection.
func pair(t testing.TB) (client, server net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if client, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// TestQuickIsAConnection holds a quick connection to what one of package net
// does.
func TestQuickIsAConnection(t *testing.T) {
	tests := []struct {
		name string
		do   func(t *testing.T, own, peer net.Conn) error
		want error
	}{
		{
			name: "a read gives what there is",
			do: func(t *testing.T, own, peer net.Conn) error {
				if _, err := peer.Write([]byte("some")); err != nil {
					t.Fatal(err)
				}
				p := make([]byte, 100)
				n, err := own.Read(p)
				if string(p[:n]) != "some" {
					t.Errorf("read %q", p[:n])
				}
				return err
			},
		},
		{
			name: "an empty read",
			do: func(_ *testing.T, own, _ net.Conn) error {
				_, err := own.Read(nil)
				return err
			},
		},
		{
			name: "an empty write",
			do: func(_ *testing.T, own, _ net.Conn) error {
				_, err := own.Write(nil)
				return err
			},
		},
		{
			name: "the end",
			do: func(_ *testing.T, own, peer net.Conn) error {
				peer.Close()
				_, err := own.Read(make([]byte, 1))
				return err
			},
			want: io.EOF,
		},
		{
			name: "a read in no time",
			do: func(t *testing.T, own, _ net.Conn) error {
				if err := own.SetReadDeadline(time.Unix(1, 0)); err != nil {
					t.Fatal(err)
				}
				_, err := own.Read(make([]byte, 1))
				return err
			},
			want: os.ErrDeadlineExceeded,
		},
		{
			name: "a write that nobody takes",
			do: func(t *testing.T, own, _ net.Conn) error {
				if err := own.SetWriteDeadline(time.Now().Add(time.Millisecond)); err != nil {
					t.Fatal(err)
				}
				p := make([]byte, 64<<20)
				n, err := own.Write(p)
				if n >= len(p) {
					t.Errorf("all %d bytes are said to be written", n)
				}
				return err
			},
			want: os.ErrDeadlineExceeded,
		},
		{
			name: "closed while it waits",
			do: func(_ *testing.T, own, peer net.Conn) error {
				go func() {
					_, _ = peer.Write([]byte("x"))
					own.Close()
				}()
				_, err := io.ReadAll(own)
				return err
			},
			want: net.ErrClosed,
		},
		{
			name: "a read after a reset",
			do: func(t *testing.T, own, peer net.Conn) error {
				if err := peer.(*net.TCPConn).SetLinger(0); err != nil {
					t.Fatal(err)
				}
				peer.Close()
				_, err := own.Read(make([]byte, 1))
				return err
			},
			want: syscall.ECONNRESET,
		},
		{
			name: "a write to who has left",
			do: func(t *testing.T, own, peer net.Conn) error {
				if err := peer.(*net.TCPConn).SetLinger(0); err != nil {
					t.Fatal(err)
				}
				peer.Close()
				var err error
				for err == nil || errors.Is(err, syscall.ECONNRESET) { // the reset is told once
					_, err = own.Write([]byte("x"))
				}
				return err
			},
			want: syscall.EPIPE,
		},
	}
	for _, tt := range tests {
		for _, made := range []struct {
			name string
			of   func(net.Conn) net.Conn
		}{{"quick", quick}, {"of package net", func(c net.Conn) net.Conn { return c }}} {
			t.Run(tt.name+"/"+made.name, func(t *testing.T) {
				own, peer := pair(t)
				if err := tt.do(t, made.of(own), peer); !errors.Is(err, tt.want) {
					t.Errorf("error = %v, want %v", err, tt.want)
				}
			})
		}
	}
}

// TestQuickCarriesAll sends more than the kernel holds, both ways at once.
func TestQuickCarriesAll(t *testing.T) {
	own, peer := pair(t)
	own = quick(own)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	go func() { _, _ = io.Copy(peer, peer) }() // ends with the connection
	failed := make(chan error, 1)
	go func() {
		_, err := own.Write(sent)
		failed <- err
	}()
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(own, got); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err != nil || !bytes.Equal(got, sent) {
		t.Errorf("write: %v; what came back is what was sent: %v", err, bytes.Equal(got, sent))
	}
}

// TestQuickReadsFrom holds that what a source has is sent while the source waits
// for more.
func TestQuickReadsFrom(t *testing.T) {
	own, peer := pair(t)
	source, feed := io.Pipe()
	go func() { _, _ = io.Copy(bufio.NewWriter(quick(own)), source) }() // ends with the pipe
	defer feed.Close()
	if _, err := feed.Write([]byte("{")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 1)
	if _, err := io.ReadFull(peer, got); err != nil || got[0] != '{' {
		t.Errorf("got %q, %v", got, err)
	}
}

func BenchmarkQuick(b *testing.B) {
	for _, made := range []struct {
		name string
		of   func(net.Conn) net.Conn
	}{{"quick", quick}, {"of package net", func(c net.Conn) net.Conn { return c }}} {
		b.Run(made.name, func(b *testing.B) {
			own, peer := pair(b)
			own = made.of(own)
			go func() { _, _ = io.Copy(peer, peer) }() // ends with the connection
			p := make([]byte, 1000)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := own.Write(p); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(own, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
