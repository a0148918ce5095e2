// Command fastproxy is the floor of a proxy that reads what it passes on: bare
// fasthttp, one walk over the body by gjson that finds the model and the end of
// the messages, and the model's name changed in place. It is there to be
// measured against.
//
//	fastproxy LISTEN UPSTREAM     such as 127.0.0.1:9002 127.0.0.1:9000
package main

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/tidwall/gjson"
	"github.com/valyala/fasthttp"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: fastproxy LISTEN UPSTREAM")
		os.Exit(2)
	}
	p := &proxy{client: &fasthttp.HostClient{
		Addr: os.Args[2], MaxConns: 4096, ReadBufferSize: 64 << 10, StreamResponseBody: true, DisablePathNormalizing: true,
	}}
	server := &fasthttp.Server{Handler: p.chat, MaxRequestBodySize: 32 << 20, ReadBufferSize: 64 << 10}
	if err := server.ListenAndServe(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "fastproxy:", err)
		os.Exit(1)
	}
}

type proxy struct{ client *fasthttp.HostClient }

func (p *proxy) chat(ctx *fasthttp.RequestCtx) {
	body := ctx.Request.Body()
	if !rename(body) {
		ctx.Error("no model or messages", fasthttp.StatusBadRequest)
		return
	}
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	ctx.Request.Header.CopyTo(&req.Header)
	req.Header.SetHost(p.client.Addr)
	req.SetBodyRaw(body)
	resp := fasthttp.AcquireResponse() // given back when its body has been read
	if err := p.client.Do(req, resp); err != nil {
		fasthttp.ReleaseResponse(resp)
		ctx.Error("bad gateway", fasthttp.StatusBadGateway)
		return
	}
	out := &ctx.Response
	out.SetStatusCode(resp.StatusCode())
	for key, value := range resp.Header.All() {
		if k := string(key); k != fasthttp.HeaderTransferEncoding && k != fasthttp.HeaderContentLength && k != fasthttp.HeaderDate {
			out.Header.SetBytesKV(key, value)
		}
	}
	out.ImmediateHeaderFlush = true
	out.SetBodyStream(&answer{resp}, resp.Header.ContentLength())
}

// rename writes another model of equal length over the body's, and reports
// whether it saw a model and messages. It walks once, over the body itself.
func rename(body []byte) bool {
	model, messages := false, false
	text := unsafe.String(unsafe.SliceData(body), len(body)) // not kept
	gjson.Parse(text).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "model":
			for i := value.Index + 1; i < value.Index+len(value.Raw)-1; i++ {
				body[i] = 'm'
			}
			model = value.Type == gjson.String
		case "messages":
			messages = value.IsArray()
		}
		return true
	})
	return model && messages
}

// answer gives its response back when fasthttp is done with the body.
type answer struct{ resp *fasthttp.Response }

func (a *answer) Read(p []byte) (int, error) { return a.resp.BodyStream().Read(p) }

func (a *answer) Close() error {
	err := a.resp.CloseBodyStream()
	fasthttp.ReleaseResponse(a.resp)
	return err
}
