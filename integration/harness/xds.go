package harness

import (
	"regexp"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// DialXDS connects to the address at which Sluice serves xDS, once streams are accepted. The connection is closed at
// the end of the test.
func (s *Sluice) DialXDS() *grpc.ClientConn {
	s.t.Helper()
	listening := s.WaitLog("listening", "protocol=xds")
	s.WaitLog("xDS is served") // Streams are refused before.
	connection, err := grpc.NewClient(regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(listening),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = connection.Close() })
	return connection
}
