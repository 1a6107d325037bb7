package static

import "net/http"

// API is the read-only management API, with the administration beside it.
type API struct {
	BasePath           string `json:"basePath" description:"Path under which the API is served."`
	Insecure           bool   `json:"insecure" description:"Serve the API without a router on the entrypoint traefik."`
	Dashboard          bool   `json:"dashboard" description:"Serve the dashboard."`
	DashboardName      string `json:"dashboardName" description:"Name that the dashboard shows."`
	Debug              bool   `json:"debug" description:"Serve /debug/pprof and /debug/vars beside the API."`
	RequireAuth        bool   `json:"requireAuth" description:"Answer 403 where a router leads to the API or the dashboard without anything that decides who gets in, on an entrypoint that is not loopback."`
	Admin              bool   `json:"admin" description:"Provide the service admin@internal, which drains endpoints, closes connections and sets log levels; only a router with authentication leads to it, or one on a loopback entrypoint."`
	LiveRequests       bool   `json:"liveRequests" description:"Serve /api/requests, which streams finished requests without headers and query values to those who can read the API."`
	DisableDashboardAd bool   `json:"disableDashboardAd" description:"Hide the advertisement; Sluice has none." support:"inert"`
}

// SetDefaults serves the API under / and enables the dashboard.
func (a *API) SetDefaults() {
	a.BasePath = "/"
	a.Dashboard = true
}

// Ping is the liveness endpoint /ping; /ready is served wherever /ping is.
type Ping struct {
	EntryPoint            string `json:"entryPoint" description:"Entrypoint that serves /ping and /ready."`
	ManualRouting         bool   `json:"manualRouting" description:"Serve ping only through a router that names ping@internal."`
	TerminatingStatusCode int    `json:"terminatingStatusCode" description:"Status of /ping while Sluice stops." range:"200..599"`
}

// SetDefaults serves ping on the internal entrypoint, and 503 while Sluice stops.
func (p *Ping) SetDefaults() {
	p.EntryPoint = InternalEntryPoint
	p.TerminatingStatusCode = http.StatusServiceUnavailable
}
