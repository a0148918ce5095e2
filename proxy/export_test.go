package proxy

// Routes lists what is served, as "METHOD /path" with ":name" for parameters.
func (s *Server) Routes() (routes []string) {
	for _, r := range s.app.GetRoutes(true) {
		routes = append(routes, r.Method+" "+r.Path)
	}
	return routes
}

// Digest is how a tenant is named after a key.
var Digest = digest

// ParseEvents is for fuzzing.
var ParseEvents = parseEvents
