package api

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/router"
)

// explain reports which router serves the request that the query describes; it is not sent.
func (h *handler) explain(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		h.write(w, http.StatusBadRequest, Problem{Message: "query: " + err.Error()})
		return
	}
	question := router.Question{
		Method:     query.Get("method"),
		URL:        query.Get("url"),
		Header:     http.Header{},
		EntryPoint: query.Get("entrypoint"),
		Client:     query.Get("client"),
	}
	if question.Method == "" {
		question.Method = http.MethodGet
	}
	if question.URL == "" {
		h.write(w, http.StatusBadRequest, Problem{Message: "query: url is missing"})
		return
	}
	for _, line := range query["header"] {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			h.write(w, http.StatusBadRequest, Problem{Message: "query: header is not of the form NAME: VALUE"})
			return
		}
		question.Header.Add(name, strings.TrimSpace(value))
	}
	answer, err := h.options.Explain(question)
	if err != nil {
		h.write(w, http.StatusBadRequest, Problem{Message: err.Error()})
		return
	}
	h.write(w, http.StatusOK, answer)
}

// explainConnection reports which router serves the TCP connection that the query describes; it is not made.
func (h *handler) explainConnection(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		h.write(w, http.StatusBadRequest, Problem{Message: "query: " + err.Error()})
		return
	}
	question := router.ConnectionQuestion{
		Address: query.Get("address"), EntryPoint: query.Get("entrypoint"), Client: query.Get("client"),
		ServerName: query.Get("sni"), Protocols: query["alpn"],
	}
	for name, into := range map[string]*bool{"tls": &question.TLS, "starttls": &question.StartTLS} {
		if text := query.Get(name); text != "" {
			if *into, err = strconv.ParseBool(text); err != nil {
				h.write(w, http.StatusBadRequest, Problem{Message: "query: " + name + " is neither true nor false"})
				return
			}
		}
	}
	answer, err := h.options.ExplainConnection(question)
	if err != nil {
		h.write(w, http.StatusBadRequest, Problem{Message: err.Error()})
		return
	}
	h.write(w, http.StatusOK, answer)
}
