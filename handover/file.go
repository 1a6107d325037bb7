package handover

import "os"

// keptSuffix names the link to the socket file of a process that hands over.
const keptSuffix = ".kept"

// keep links the socket file under another name, before a take-over: the successor replaces it at the path before it
// serves. s.files is held.
func (s *Server) keep() error {
	kept := s.path + keptSuffix
	if s.owns(kept) {
		return nil
	}
	if !s.owns(s.path) {
		return nil // It was removed, or replaced without a take-over: there is nothing to restore.
	}
	if err := os.Remove(kept); err != nil && !os.IsNotExist(err) {
		return err // That of a process that has ended in a take-over is removed.
	}
	return os.Link(s.path, kept)
}

// restore has the path lead to this process again, after a successor that does not serve may have replaced the file.
// s.files is held.
func (s *Server) restore() error {
	kept := s.path + keptSuffix
	if s.retired || s.owns(s.path) || !s.owns(kept) {
		return nil
	}
	// Renamed over another name of the same file, both would stay.
	link := s.temporary + keptSuffix
	if err := os.Link(kept, link); err != nil {
		return err
	}
	return os.Rename(link, s.path)
}

// retire ends the listener, and removes its files unless they are those of a successor. It waits for the end of a
// take-over.
func (s *Server) retire() {
	_ = s.listener.Close()
	s.files.Lock()
	defer s.files.Unlock()
	s.retired = true
	for _, name := range []string{s.temporary, s.path + keptSuffix, s.path} {
		if s.owns(name) {
			_ = os.Remove(name)
		}
	}
}

// owns reports whether a name is that of the socket of this process.
func (s *Server) owns(name string) bool {
	file, err := os.Lstat(name)
	return err == nil && os.SameFile(file, s.file)
}
