package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// chunks is the number of chunks of a body, and chunk their length.
const (
	chunks = 4
	chunk  = 4 << 10
)

// serve answers one request after another.
func serve(connection net.Conn) {
	defer func() { _ = connection.Close() }()
	fixed, chunked := fixedAnswer(), chunkedAnswer()
	reader := bufio.NewReaderSize(connection, 32<<10)
	for {
		path, length, err := head(reader)
		if err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, reader, length); err != nil {
			return
		}
		answer := fixed
		if path == "/chunked" {
			answer = chunked
		}
		if _, err := connection.Write(answer); err != nil {
			return
		}
	}
}

// head reads a request's head, and returns its path and Content-Length.
func head(reader *bufio.Reader) (path string, length int64, err error) {
	line, err := reader.ReadSlice('\n')
	if err != nil {
		return "", 0, err
	}
	if _, target, ok := bytes.Cut(line, []byte(" ")); ok {
		target, _, _ = bytes.Cut(target, []byte(" "))
		path = string(target)
	}
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return "", 0, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			return path, length, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if !bytes.EqualFold(name, []byte("content-length")) {
			continue
		}
		if length, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err != nil {
			return "", 0, fmt.Errorf("content-length: %w", err)
		}
	}
}

// fixedAnswer is 128 bytes with Content-Length.
func fixedAnswer() []byte {
	return []byte("HTTP/1.1 200 OK\r\nServer: backend\r\nContent-Type: text/plain\r\nContent-Length: 128\r\n\r\n" +
		strings.Repeat("x", 128))
}

// chunkedAnswer is 16 KiB in chunks of 4 KiB.
func chunkedAnswer() []byte {
	var out bytes.Buffer
	out.WriteString("HTTP/1.1 200 OK\r\nServer: backend\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
	for range chunks {
		fmt.Fprintf(&out, "%x\r\n%s\r\n", chunk, strings.Repeat("x", chunk))
	}
	out.WriteString("0\r\n\r\n")
	return out.Bytes()
}
