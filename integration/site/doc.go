// Package site builds the documentation's site and tests what readers get: links and headings that exist, in Chromium a
// search that finds options and pages that request no other host, and pages that axe-core finds no fault with, in light
// and dark, on a wide and a narrow screen.
package site
