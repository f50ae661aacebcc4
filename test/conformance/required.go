package main

import "slices"

// The scenarios that must pass, by revision of the run. One that is neither here nor in the run's baseline fails the run.
var (
	everyRevision = []string{
		"tools-list",
		"tools-call-simple-text",
		"tools-call-image",
		"tools-call-audio",
		"tools-call-embedded-resource",
		"tools-call-mixed-content",
		"tools-call-error",
		"tools-call-with-progress",
		"resources-list",
		"resources-read-text",
		"resources-read-binary",
		"resources-templates-read",
	}
	withSessions = append(slices.Clone(everyRevision), "server-initialize", "ping")

	of20250618 = withSessions
	of20251125 = append(slices.Clone(withSessions), "server-sse-multiple-streams", "dns-rebinding-protection")

	// Not counted by the suite for 2025-11-25, but required here.
	of20251125More = append(slices.Clone(of20251125), "json-schema-2020-12", "server-session-lifecycle")

	// In front of a server with sessions.
	of20260728 = append(slices.Clone(everyRevision),
		"server-stateless",
		"sep-2164-resource-not-found",
		"server-sse-multiple-streams",
		"dns-rebinding-protection",
		"caching",
		"input-required-result-unsupported-methods",
		"input-required-result-ignore-extra-params",
		"input-required-result-validate-input",
		// Not counted by the suite, but required here.
		"http-header-validation",
		"http-custom-header-server-validation",
		"json-schema-2020-12",
	)
	// What a stateless server behind the gateway can do besides passes through.
	of20260728Stateless = append(slices.Clone(of20260728),
		"input-required-result-basic-elicitation",
		"input-required-result-basic-sampling",
		"input-required-result-basic-list-roots",
		"input-required-result-request-state",
		"input-required-result-multiple-input-requests",
		"input-required-result-multi-round",
		"input-required-result-missing-input-response",
		"input-required-result-result-type",
		"input-required-result-tampered-state",
		"input-required-result-capability-check",
	)
)
