package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/sluiceproxy/sluice/api"
)

// changeAPI sends a request to the administration of a running Sluice, without a body if change is nil, and decodes
// its answer. base is the URL of its API with or without /api. The error is what the administration says, or names the
// router that is missing.
func changeAPI(base, method, path string, change, answer any) error {
	ctx, cancel := context.WithTimeout(context.Background(), firstState)
	defer cancel()
	var body io.Reader
	if change != nil {
		encoded, err := json.Marshal(change)
		if err != nil {
			return err
		}
		body = bytes.NewReader(encoded)
	}
	response, err := send(ctx, method, apiPath(base, "admin/"+path), body,
		http.Header{"Content-Type": {"application/json"}}, false, http.StatusBadRequest, http.StatusForbidden,
		http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusConflict)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}
	if response.StatusCode == http.StatusOK {
		return json.Unmarshal(content, answer)
	}
	var problem api.Problem
	if err := json.Unmarshal(content, &problem); err == nil && problem.Message != "" &&
		response.StatusCode != http.StatusMethodNotAllowed {
		return fmt.Errorf("%s: %s", withoutUser(base), problem.Message)
	}
	return fmt.Errorf("%s answers %s: name with --%s the URL at which a router with authentication leads to "+
		"admin@internal, which exists with api.admin", withoutUser(base), response.Status, apiFlag)
}

// apiAddress returns the URL of --api, which is that of the Sluice on this machine where it is not given.
func apiAddress(given string) string {
	if given == "" {
		return localAPI
	}
	return withScheme(given)
}
