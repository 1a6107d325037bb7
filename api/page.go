package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// defaultPerPage is the default page size.
const defaultPerPage = 100

// Response headers for paging.
const (
	// nextPage is the number of the next page; it is 1 on the last page.
	nextPage = "X-Next-Page"
	// totalCount is the number of elements on all pages.
	totalCount = "X-Total-Count"
)

// Paged returns the page of a list that the parameters page (from 1, default 1) and per_page (default 100) select. It
// sets the headers X-Next-Page (1 on the last page) and X-Total-Count. The first page may be empty. The error is
// answered with 400.
func Paged[T any](header http.Header, query url.Values, list []T) ([]T, error) {
	page, err := number(query, "page", 1)
	if err != nil {
		return nil, err
	}
	perPage, err := number(query, "per_page", defaultPerPage)
	if err != nil {
		return nil, err
	}
	if page > 1 && (page-1) > (len(list)-1)/perPage {
		return nil, fmt.Errorf("invalid request: page: %d, per_page: %d", page, perPage)
	}
	start, end, next := (page-1)*perPage, len(list), 1
	if end-start > perPage {
		end, next = start+perPage, page+1
	}
	header.Set(nextPage, strconv.Itoa(next))
	header.Set(totalCount, strconv.Itoa(len(list)))
	if start == end {
		return []T{}, nil
	}
	return list[start:end], nil
}

// number reads a positive parameter.
func number(query url.Values, name string, otherwise int) (int, error) {
	text := query.Get(name)
	if text == "" {
		return otherwise, nil
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < 1 {
		return 0, fmt.Errorf("invalid request: %s is not a number of at least 1", name)
	}
	return value, nil
}
