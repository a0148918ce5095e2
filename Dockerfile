# A static binary in an otherwise empty image.
#
#   docker build -t understudy .
#   docker run --rm -p 127.0.0.1:8484:8484 -v understudy:/data understudy
#
# docs/CONFIGURATION.md, "In a container", says what the settings below mean for safety.

FROM golang:1.26-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/understudy . \
 && mkdir -p /data /out/tmp /out/etc/ssl/certs \
 && chmod 1777 /out/tmp \
 && cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ \
 && cp LICENSE /out/

FROM scratch
COPY --from=build /out/ /
COPY --from=build --chown=65532:65532 /data /data
# A number, so that an engine can see that it isn't root.
USER 65532:65532

# A loopback address can't be reached from outside a container, and any other one is refused with auth.mode none. With
# passthrough the caller's Authorization goes to the upstream, which judges it, and keeps callers' data apart.
ENV UNDERSTUDY_LISTEN=0.0.0.0:8484 \
    UNDERSTUDY_AUTH_MODE=passthrough \
    UNDERSTUDY_DATA_DIR=/data

# A config.yaml mounted as /config.yaml is read; without one the defaults hold.
WORKDIR /
VOLUME /data
EXPOSE 8484
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s CMD ["/understudy", "healthcheck"]
ENTRYPOINT ["/understudy"]
CMD ["serve"]
