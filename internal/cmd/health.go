package cmd

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
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
	if *url == "" {
		loaded, err := cf.load(o)
		if err != nil {
			return err
		}
		host, port, err := net.SplitHostPort(loaded.Config.Listen)
		if err != nil {
			return err
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host = "127.0.0.1"
		}
		*url = "http://" + net.JoinHostPort(host, port) + "/readyz"
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, *url, nil)
	if err != nil {
		return usageError{err}
	}
	resp, err := http.DefaultClient.Do(req)
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
