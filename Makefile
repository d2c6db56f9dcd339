CONVERSATION ?= $(firstword $(wildcard examples/conversations/*.json examples/conversations/*.jsonl))
FUZZTIME ?= 30s

.PHONY: test check databases integration bench cover replay fuzz

test: ## what the README says
	go test ./...

check: ## all that must hold before a change goes in
	.ci/run

databases: ## the tests of session/database, on servers of their own
	.ci/databases go test ./session/database

integration: ## compaction with a real, small model, on a server of its own
	.ci/model go test ./compaction -run '^TestReal' -count=1 -timeout 30m -v

bench:
	go test -run '^$$' -bench . -benchmem ./...

cover: ## statement coverage of every package
	go test -cover ./...

replay: ## make replay CONVERSATION=file.json
	go run ./cmd/recap replay $(CONVERSATION)

fuzz:
	go test -run '^$$' -fuzz FuzzParse -fuzztime $(FUZZTIME) ./internal/conversation
	go test -run '^$$' -fuzz FuzzArgs -fuzztime $(FUZZTIME) ./internal/dialog
	go test -run '^$$' -fuzz FuzzDecodeLoCoMo -fuzztime $(FUZZTIME) ./internal/eval
	go test -run '^$$' -fuzz FuzzDecodePrices -fuzztime $(FUZZTIME) ./internal/eval
	go test -run '^$$' -fuzz FuzzValues -fuzztime $(FUZZTIME) ./internal/exact
	go test -run '^$$' -fuzz FuzzWords -fuzztime $(FUZZTIME) ./internal/recall
	go test -run '^$$' -fuzz FuzzTexts -fuzztime $(FUZZTIME) ./internal/recall
	go test -run '^$$' -fuzz FuzzUnmarshalRecord -fuzztime $(FUZZTIME) ./session
	go test -run '^$$' -fuzz FuzzUnmarshalEvent -fuzztime $(FUZZTIME) ./session
	go test -run '^$$' -fuzz FuzzJSON -fuzztime $(FUZZTIME) ./session/database
