package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/memory"
)

// bulkTimeout bounds an import or an export.
const bulkTimeout = 10 * time.Minute

// importMemories is POST /api/memories/import?agent=&user=&restore=&tenant= with
// JSONL of any size.
func (s *Server) importMemories(c *fiber.Ctx) error {
	scope, err := queryScope(c)
	if err != nil {
		return err
	}
	in, err := decoded(c.Context(), requestBody(c.Context()))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), bulkTimeout)
	defer cancel()
	upload := &failing{Reader: in}
	report, err := s.cfg.Memories.Import(ctx, scope, upload, memory.ImportOptions{Restore: c.QueryBool("restore")})
	switch {
	case upload.err != nil:
		c.Context().Response.SetConnectionClose()
		return &chat.Error{Status: 400, Code: chat.CodeInvalidJSON, Message: fmt.Sprintf("The request body could not be read to its end; %d rows came and were imported.", report.Rows)}
	case err != nil:
		c.Context().Response.SetConnectionClose() // there may be more to read
		return memoryError(err)
	case report.Invalid > 0 && report.Invalid == report.Rows:
		return &chat.Error{Status: 400, Code: chat.CodeInvalidJSON, Message: fmt.Sprintf("No line of the body is a row; line %d: %s.", report.Errors[0].Line, report.Errors[0].Error)}
	}
	return c.JSON(report)
}

// failing remembers the error that reading ended with.
type failing struct {
	io.Reader
	err error // nil at a proper end
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// exportMemories is GET /api/memories/export?agent=&user=&tenant=.
func (s *Server) exportMemories(c *fiber.Ctx) error {
	scope, err := queryScope(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), bulkTimeout)
	next, stop := iter.Pull2(s.cfg.Memories.Export(ctx, scope))
	c.Set(fiber.HeaderContentType, "application/x-ndjson")
	c.Context().SetBodyStream(&rows{next: next, end: func() {
		stop()
		cancel()
		s.cfg.Metrics.InFlight.Dec()
	}}, -1)
	return nil
}

// rows is the body of an export. An error breaks it off, so that what came
// before is not taken for the whole.
type rows struct {
	next func() (memory.Row, error, bool)
	end  func()
	line []byte // what is left of the last row
}

func (r *rows) Read(p []byte) (int, error) {
	if len(r.line) == 0 {
		row, err, ok := r.next()
		if !ok {
			return 0, io.EOF
		}
		if err == nil {
			r.line, err = json.Marshal(row)
		}
		if err != nil {
			return 0, err
		}
		r.line = append(r.line, '\n')
	}
	n := copy(p, r.line)
	r.line = r.line[n:]
	return n, nil
}

// Close ends the export, however far it got.
func (r *rows) Close() error {
	if r.end != nil {
		r.end()
		r.end = nil
	}
	return nil
}
