package proxy

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"
)

// hopByHop headers belong to one connection (RFC 9110 §7.6.1).
var hopByHop = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// forwardHeaders copies a request's headers for the upstream: all but the
// connection's and our own.
func forwardHeaders(from, to *fasthttp.RequestHeader) {
	from.CopyTo(to)
	to.SetProtocol("HTTP/1.1") // ours, whatever the client speaks
	for _, name := range strings.Split(string(from.Peek("Connection")), ",") {
		if name = strings.TrimSpace(name); name != "" {
			to.Del(name)
		}
	}
	for _, name := range hopByHop {
		to.Del(name)
	}
	for _, name := range ownHeaders {
		to.Del(name)
	}
	to.Del("Expect") // answered by us
	to.SetNoDefaultContentType(true)
}

// copyHeaders copies an answer's headers for the client: all but the
// connection's. What was set before stays unless the upstream sets it too.
func copyHeaders(from, to *fasthttp.ResponseHeader) {
	to.SetStatusCode(from.StatusCode())
	to.SetNoDefaultContentType(true)
	named := string(from.Peek("Connection"))
	for key, value := range from.All() {
		if hop(key) || named != "" && listed(named, key) || bytes.EqualFold(key, []byte("Content-Length")) || bytes.EqualFold(key, []byte("Date")) {
			continue
		}
		to.AddBytesKV(key, value)
	}
}

// listed reports whether a comma-separated list of names has a name.
func listed(names string, name []byte) bool {
	for n := range strings.SplitSeq(names, ",") {
		if strings.EqualFold(strings.TrimSpace(n), string(name)) {
			return true
		}
	}
	return false
}

func hop(key []byte) bool {
	for _, name := range hopByHop {
		if strings.EqualFold(string(key), name) {
			return true
		}
	}
	return false
}

func isEventStream(h *fasthttp.ResponseHeader) bool {
	return bytes.HasPrefix(bytes.ToLower(h.ContentType()), []byte("text/event-stream"))
}

func isJSON(h *fasthttp.ResponseHeader) bool {
	return bytes.Contains(bytes.ToLower(h.ContentType()), []byte("json"))
}
