# syntax=docker/dockerfile:1

# The toolchain is pinned to the patch release, so that the same tree gives the same binary.
FROM golang:1.26.8 AS build
WORKDIR /src
ENV CGO_ENABLED=0 GOFLAGS=-mod=readonly

COPY go.mod go.sum ./
RUN go mod download && go mod verify

COPY . .
ARG VERSION=""
ARG REVISION=""
RUN go build -trimpath -buildvcs=false \
      -ldflags "-s -w -X main.version=${VERSION} -X main.revision=${REVISION}" \
      -o /out/gateway ./cmd/gateway

FROM scratch
ARG VERSION=""
ARG REVISION=""
LABEL org.opencontainers.image.title="gateway" \
      org.opencontainers.image.description="MCP gateway between agent containers and a provider's server" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/diverge-network/gateway" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

# `gateway answer --upstream https://…` checks certificates.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/gateway /gateway

USER 65532:65532
# outside, inside, ops. All three bind loopback unless told otherwise; see `gateway serve --help`.
EXPOSE 14979 8080 9090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s --retries=3 CMD ["/gateway", "healthcheck"]
ENTRYPOINT ["/gateway"]
CMD ["serve"]
