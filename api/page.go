package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// defaultPerPage is how many elements a page has where the query does not say.
const defaultPerPage = 100

// The headers that say where in a list a page is.
const (
	// nextPage names the page behind the one in the answer; it is 1 on the last page.
	nextPage = "X-Next-Page"
	// totalCount counts the elements on all pages.
	totalCount = "X-Total-Count"
)

// Paged cuts the page out of a list that the parameters page (from 1, default 1) and per_page (default 100) ask for. It
// names the next page in the header X-Next-Page, which is 1 on the last one, and counts the whole list in
// X-Total-Count. The first page may be empty. The error is for whoever asked, with 400.
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

// number reads a parameter that counts from 1.
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
