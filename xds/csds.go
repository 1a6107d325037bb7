package xds

import (
	"context"
	"errors"
	"io"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// FetchClientStatus returns the state of all streams (CSDS), which grpcdebug shows. Matchers of nodes are not
// supported.
func (s *services) FetchClientStatus(_ context.Context, request *statusv3.ClientStatusRequest) (
	*statusv3.ClientStatusResponse, error,
) {
	if len(request.GetNodeMatchers()) > 0 {
		return nil, status.Error(codes.InvalidArgument, "node matchers are not supported")
	}
	response := &statusv3.ClientStatusResponse{}
	for _, one := range s.server.snapshot() {
		response.Config = append(response.GetConfig(), one.status())
	}
	return response, nil
}

// StreamClientStatus answers each request as FetchClientStatus does.
func (s *services) StreamClientStatus(inner statusv3.ClientStatusDiscoveryService_StreamClientStatusServer) error {
	for {
		request, err := inner.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		response, err := s.FetchClientStatus(inner.Context(), request)
		if err != nil {
			return err
		}
		if err := inner.Send(response); err != nil {
			return err
		}
	}
}

// status returns the state of the stream in the form of CSDS.
func (s *stream) status() *statusv3.ClientConfig {
	s.view.mu.Lock()
	defer s.view.mu.Unlock()
	config := &statusv3.ClientConfig{Node: s.node, ClientScope: s.address}
	if config.GetNode() == nil {
		config.Node = &corev3.Node{}
	}
	for _, one := range s.types {
		if one == nil {
			continue
		}
		names := one.listed()
		missing := setOf(one.collection.lacks(names))
		for _, name := range names {
			shown := one.config(name)
			if missing[name] {
				shown.ClientStatus = adminv3.ClientResourceStatus_DOES_NOT_EXIST
			}
			config.GenericXdsConfigs = append(config.GetGenericXdsConfigs(), shown)
		}
	}
	return config
}

// config returns the state of one subscribed resource in the form of CSDS.
func (s *subscription) config(name string) *statusv3.ClientConfig_GenericXdsConfig {
	config := &statusv3.ClientConfig_GenericXdsConfig{
		TypeUrl: s.collection.kind.typeURL(), Name: name, VersionInfo: s.acked,
		ClientStatus: adminv3.ClientResourceStatus_REQUESTED, ConfigStatus: statusv3.ConfigStatus_NOT_SENT,
	}
	if !s.ackedAt.IsZero() {
		config.LastUpdated = timestamppb.New(s.ackedAt)
		config.ClientStatus, config.ConfigStatus = adminv3.ClientResourceStatus_ACKED, statusv3.ConfigStatus_SYNCED
	}
	switch {
	case s.rejected != nil:
		config.ClientStatus, config.ConfigStatus = adminv3.ClientResourceStatus_NACKED, statusv3.ConfigStatus_ERROR
		config.ErrorState = &adminv3.UpdateFailureState{
			Details: s.rejected.Message, VersionInfo: s.rejected.Version, LastUpdateAttempt: timestamppb.New(s.rejected.Time),
		}
	case s.sentAt.After(s.ackedAt):
		config.ConfigStatus = statusv3.ConfigStatus_STALE
	}
	return config
}
