// Command fiberproxy is the floor of a fiber proxy: fiber v2 and the fasthttp
// client with the settings that streaming needs, model and messages looked up
// by gjson as a gateway does, and nothing more. It routes nothing, keeps
// nothing and forgives nothing: it is there to be measured against.
//
//	fiberproxy LISTEN UPSTREAM     such as 127.0.0.1:9001 127.0.0.1:9000
package main

import (
	"fmt"
	"os"

	"github.com/gofiber/fiber/v2"
	"github.com/tidwall/gjson"
	"github.com/valyala/fasthttp"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: fiberproxy LISTEN UPSTREAM")
		os.Exit(2)
	}
	p := &proxy{client: &fasthttp.HostClient{
		Addr: os.Args[2], MaxConns: 4096, ReadBufferSize: 64 << 10, StreamResponseBody: true, DisablePathNormalizing: true,
	}}
	app := fiber.New(fiber.Config{DisableStartupMessage: true, BodyLimit: 32 << 20, ReadBufferSize: 64 << 10})
	app.Post("/v1/chat/completions", p.chat)
	if err := app.Listen(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "fiberproxy:", err)
		os.Exit(1)
	}
}

type proxy struct{ client *fasthttp.HostClient }

func (p *proxy) chat(c *fiber.Ctx) error {
	body := c.Request().Body()
	found := gjson.GetManyBytes(body, "model", "messages")
	if !found[0].Exists() || !found[1].IsArray() {
		return fiber.ErrBadRequest
	}
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	c.Request().Header.CopyTo(&req.Header)
	req.Header.SetHost(p.client.Addr)
	req.SetBodyRaw(body)
	resp := fasthttp.AcquireResponse() // given back when its body has been read
	if err := p.client.Do(req, resp); err != nil {
		fasthttp.ReleaseResponse(resp)
		return fiber.ErrBadGateway
	}
	out := c.Response()
	out.SetStatusCode(resp.StatusCode())
	for key, value := range resp.Header.All() {
		if k := string(key); k != fasthttp.HeaderTransferEncoding && k != fasthttp.HeaderContentLength && k != fasthttp.HeaderDate {
			out.Header.SetBytesKV(key, value)
		}
	}
	out.ImmediateHeaderFlush = true
	out.SetBodyStream(&answer{resp}, resp.Header.ContentLength())
	return nil
}

// answer gives its response back when fasthttp is done with the body.
type answer struct{ resp *fasthttp.Response }

func (b *answer) Read(p []byte) (int, error) { return b.resp.BodyStream().Read(p) }

func (b *answer) Close() error {
	err := b.resp.CloseBodyStream()
	fasthttp.ReleaseResponse(b.resp)
	return err
}
