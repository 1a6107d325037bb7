package main

import "context"

func (s *system) openPush(context.Context) (pusher, error) { return nil, nil }
