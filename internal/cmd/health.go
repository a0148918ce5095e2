package cmd

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/understudy-ai/understudy/internal/config"
)

// runHealthcheck asks a running server whether it is ready, for container
// engines.
func runHealthcheck(ctx context.Context, args []string, o IO) error {
	f := flags("healthcheck")
	cf := addConfigFlags(f)
	url := f.String("url", "", "`URL` to ask (default: /readyz on the configured address)")
	if err := parse(f, args, o); err != nil {
		return err
	}
	var client http.Client
	if *url == "" {
		loaded, err := cf.load(o)
		if err != nil {
			return err
		}
		if *url, client.Transport, err = serverAt(loaded.Config.Listen); err != nil {
			return err
		}
		*url += "/readyz"
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, *url, nil)
	if err != nil {
		return usageError{err}
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("asking whether the server is ready: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers HTTP %d", *url, resp.StatusCode)
	}
	_, err = fmt.Fprintln(o.Out, "ok")
	return err
}

// serverAt is the root of a server that listens on an address, and how to get
// there.
func serverAt(listen string) (url string, by http.RoundTripper, err error) {
	if path, ok := strings.CutPrefix(listen, config.UnixPrefix); ok {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
		return "http://localhost", &http.Transport{DialContext: dial}, nil
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", nil, err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port), nil, nil
}
