module github.com/sluiceproxy/sluice/sdk/propagate

go 1.22
