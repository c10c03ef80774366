package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-base/version"

	"k8s.io/kubernetes/cmd/oracle/vector"
	"k8s.io/kubernetes/pkg/kubelet/prober"
	"k8s.io/kubernetes/pkg/probe"
	httpprober "k8s.io/kubernetes/pkg/probe/http"
)

var (
	clientPort  = regexp.MustCompile(`:[0-9]+->`)
	certificate = sync.OnceValue(selfSigned)
)

func selfSigned() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(1e9, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// withPort puts a port in the place of {port}.
func withPort[T any](raw json.RawMessage, port string) T {
	text := strings.ReplaceAll(string(raw), `"\"{port}\""`, `"`+port+`"`)
	text = strings.ReplaceAll(text, `"{port}"`, port)
	text = strings.ReplaceAll(text, `{port}`, port)
	var in T
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		panic(vector.Skip(err.Error()))
	}
	return in
}

// withoutPort puts {port} back, and {client_port}.
func withoutPort(text, port string) string {
	text = clientPort.ReplaceAllString(text, ":{client_port}->")
	return strings.ReplaceAll(text, ":"+port, ":{port}")
}

// listen opens a listener of a kind that is told by each, and returns its port and what ends it.
func listen(address, kind string, each func(net.Conn)) (port string, end func()) {
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		panic(vector.Skip(err.Error()))
	}
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	if kind == "backlog_full" {
		raw, _ := listener.(*net.TCPListener).SyscallConn()
		_ = raw.Control(func(fd uintptr) { _ = syscall.Listen(int(fd), 0) })
		held := []net.Conn{}
		for count := 0; count < 8; count++ {
			if conn, err := net.DialTimeout("tcp", listener.Addr().String(), 50*time.Millisecond); err == nil {
				held = append(held, conn)
			}
		}
		return port, func() {
			for _, conn := range held {
				conn.Close()
			}
			listener.Close()
		}
	}
	if kind == "none" || kind == "closed_port" {
		listener.Close()
		return port, func() {}
	}
	var lock sync.Mutex
	open := []net.Conn{}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			lock.Lock()
			open = append(open, conn)
			lock.Unlock()
			go each(conn)
		}
	}()
	return port, func() {
		listener.Close()
		lock.Lock()
		defer lock.Unlock()
		for _, conn := range open {
			conn.Close()
		}
	}
}

type portsIn struct {
	Ports    []v1.ContainerPort `json:"container_ports"`
	PodIP    string             `json:"pod_ip"`
	Timeout  int32              `json:"timeout_seconds"`
	Kind     string
	Listener string
	Address  string                        `json:"listener_address"`
	TCP      *v1.TCPSocketAction           `json:"tcp_socket"`
	HTTP     *v1.HTTPGetAction             `json:"http_get"`
	GRPC     *v1.GRPCAction                `json:"grpc"`
	Version  struct{ Major, Minor string } `json:"kubelet_version"`
	Server   any
}

// known refuses a case of another version: a build has its version in its requests.
func (in portsIn) known() {
	if built := version.Get(); in.Version.Major != "" && (in.Version.Major != built.Major || in.Version.Minor != built.Minor) {
		panic(vector.Skip("the kubelet is " + built.Major + "." + built.Minor))
	}
}

// run probes, and says what comes of it.
func run(in portsIn, handler v1.ProbeHandler, web httpprober.Prober, port string) (object, string) {
	in.known()
	spec := &v1.Probe{ProbeHandler: handler, TimeoutSeconds: in.Timeout}
	start := time.Now()
	result, message, err := prober.OracleRun(spec, in.PodIP, v1.Container{Name: "c", Ports: in.Ports}, nil, web)
	out := object{"result": result, "error": nil}
	if err != nil {
		out["error"] = withoutPort(err.Error(), port)
	}
	if seconds := time.Since(start).Round(time.Second) / time.Second; seconds >= 1 {
		out["took_seconds_rounded"] = int(seconds)
	}
	return out, withoutPort(message, port)
}

func tcpProbe(raw json.RawMessage) any {
	in, port, end := withPort[portsIn](raw, "1"), "0", func() {}
	if in.Address != "" {
		port, end = listen(in.Address, in.Listener, func(conn net.Conn) {
			if in.Listener == "closes_at_once" {
				conn.Close()
			}
		})
	}
	defer end()
	in = withPort[portsIn](raw, port)
	out, message := run(in, v1.ProbeHandler{TCPSocket: in.TCP}, nil, port)
	out["message"] = message
	return out
}

type grpcIn struct {
	Server string
	Reply  struct {
		Status   *int32 `json:"serving_status"`
		Services map[string]int32
		Code     *uint32
		Message  string
		Delay    int64 `json:"delay_milliseconds"`
	} `json:"server_reply"`
}

type healthServer struct {
	health.UnimplementedHealthServer
	in   grpcIn
	seen object
	lock sync.Mutex
}

func (h *healthServer) Check(ctx context.Context, request *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	given, _ := metadata.FromIncomingContext(ctx)
	shown := object{}
	for key, values := range given {
		// Who links a package for compression offers it: the kubelet does, what recorded the vectors did not.
		if key != "grpc-accept-encoding" {
			shown[key] = values[0]
		}
	}
	h.lock.Lock()
	h.seen = object{"metadata": shown, "method": "/grpc.health.v1.Health/Check", "service": request.Service}
	h.lock.Unlock()
	time.Sleep(time.Duration(h.in.Reply.Delay) * time.Millisecond)
	reply := h.in.Reply
	switch {
	case reply.Code != nil:
		return nil, status.Error(codes.Code(*reply.Code), reply.Message)
	case reply.Services != nil:
		number, ok := reply.Services[request.Service]
		if !ok {
			return nil, status.Error(codes.NotFound, "unknown service")
		}
		return &health.HealthCheckResponse{Status: health.HealthCheckResponse_ServingStatus(number)}, nil
	case reply.Status != nil:
		return &health.HealthCheckResponse{Status: health.HealthCheckResponse_ServingStatus(*reply.Status)}, nil
	}
	return &health.HealthCheckResponse{}, nil
}

func grpcProbe(raw json.RawMessage) any {
	in, of := withPort[portsIn](raw, "1"), withPort[grpcIn](raw, "1")
	var port string
	server := &healthServer{in: of}
	switch of.Server {
	case "health", "no_health_service":
		listener, err := net.Listen("tcp", net.JoinHostPort(in.PodIP, "0"))
		if err != nil {
			panic(vector.Skip(err.Error()))
		}
		_, port, _ = net.SplitHostPort(listener.Addr().String())
		serving := grpc.NewServer()
		if of.Server == "health" {
			health.RegisterHealthServer(serving, server)
		}
		go serving.Serve(listener)
		defer serving.Stop()
	default:
		var end func()
		port, end = listen(in.PodIP, of.Server, func(conn net.Conn) {
			if of.Server == "closes_at_once" {
				conn.Close()
			} else if of.Server == "http1" {
				_, _ = conn.Read(make([]byte, 1024))
				_, _ = conn.Write([]byte(
					"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nno"))
				conn.Close()
			}
		})
		defer end()
	}
	in = withPort[portsIn](raw, port)
	out, message := run(in, v1.ProbeHandler{GRPC: in.GRPC}, nil, port)
	tell(out, "message", message)
	server.lock.Lock()
	defer server.lock.Unlock()
	if server.seen != nil {
		shown := server.seen["metadata"].(object)
		for key, value := range shown {
			shown[key] = withoutPort(value.(string), port)
		}
		out["request_seen_by_server"] = server.seen
	}
	return out
}

func httpProbe(raw json.RawMessage) any {
	in := withPort[portsIn](raw, "1")
	if in.Kind == "request" {
		return request(in)
	}
	return response(raw)
}

// request captures the bytes that are sent, wherever they would go.
func request(in portsIn) any {
	out := object{}
	var hello *tls.ClientHelloInfo
	var lock sync.Mutex
	dial := func(_ context.Context, _, address string) (net.Conn, error) {
		here, there := net.Pipe()
		lock.Lock()
		out["dial_address"] = address
		lock.Unlock()
		go func() {
			conn := net.Conn(there)
			if strings.EqualFold(string(in.HTTP.Scheme), "https") {
				conn = tls.Server(there, &tls.Config{
					Certificates: []tls.Certificate{certificate()},
					GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
						lock.Lock()
						defer lock.Unlock()
						hello = info
						return nil, nil
					},
				})
			}
			text := readRequest(conn)
			lock.Lock()
			out["request_text"] = text
			lock.Unlock()
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
			conn.Close()
		}()
		return here, nil
	}
	in.known()
	container := v1.Container{Name: "c", Ports: in.Ports}
	made, err := httpprober.NewRequestForHTTPGetAction(in.HTTP, &container, in.PodIP, "probe")
	if err != nil {
		return object{"probe_result": probe.Unknown, "error": err.Error(), "stage": "building the request"}
	}
	out["url"] = made.URL.String()
	result, message, err := httpprober.OracleDial(dial).Probe(made, 5*time.Second)
	lock.Lock()
	defer lock.Unlock()
	out["probe_result"] = result
	if err != nil {
		out["error"] = err.Error()
	}
	if result != probe.Success {
		out["probe_message"], out["stage"] = message, "sending the request"
		delete(out, "dial_address")
		delete(out, "request_text")
	}
	if hello != nil {
		out["tls_server_name"], out["tls_alpn_offered"] = hello.ServerName, hello.SupportedProtos
	}
	return out
}

func readRequest(conn net.Conn) string {
	reader, text := bufio.NewReader(conn), &bytes.Buffer{}
	for {
		line, err := reader.ReadString('\n')
		text.WriteString(line)
		if err != nil || line == "\r\n" {
			return text.String()
		}
	}
}

type serverIn struct {
	Server *struct {
		Full    bool `json:"listener_backlog_full"`
		TLS     string
		Replies []reply
	}
}

type reply struct {
	Raw    string `json:"raw_text"`
	Hex    string `json:"raw_hex"`
	Text   string `json:"then_repeat_text"`
	Count  int    `json:"then_repeat_count"`
	Delay  int64  `json:"delay_before_reply_milliseconds"`
	Pause  int64  `json:"pause_after_reply_milliseconds"`
	Before bool   `json:"before_reading_request"`
	End    string
}

// responseOf2 is that of a server of HTTP/2.
func responseOf2(in portsIn, one reply, raw json.RawMessage) any {
	var port string
	seen := []object{}
	code, err := strconv.Atoi(strings.TrimPrefix(one.Raw, "status "))
	if err != nil {
		panic(vector.Skip("a server of HTTP/2 sends no such text"))
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, object{"request_text": withoutPort(fmt.Sprintf("%s %s %s host=%s accept=%s user-agent=%s",
			r.Method, r.RequestURI, r.Proto, r.Host, r.Header.Get("Accept"), r.UserAgent()), port)})
		w.WriteHeader(code)
		_, _ = w.Write([]byte(strings.Repeat(one.Text, one.Count)))
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	_, port, _ = net.SplitHostPort(server.Listener.Addr().String())
	in = withPort[portsIn](raw, port)
	out, message := run(in, v1.ProbeHandler{HTTPGet: in.HTTP}, httpprober.OracleDial(nil), port)
	tell(out, "message", message)
	out["requests_seen"] = seen
	return out
}

func response(raw json.RawMessage) any {
	in, of, kind := withPort[portsIn](raw, "1"), withPort[serverIn](raw, "1"), "raw"
	if of.Server == nil {
		kind = "none"
	} else if of.Server.Full {
		kind = "backlog_full"
	} else if of.Server.TLS == "alpn_h2" {
		return responseOf2(in, of.Server.Replies[0], raw)
	}
	var lock sync.Mutex
	seen, number := []object{}, 0
	var replies []reply
	port, end := listen(in.PodIP, kind, func(conn net.Conn) {
		lock.Lock()
		one := replies[min(number, len(replies)-1)]
		number++
		lock.Unlock()
		below := conn
		if of.Server.TLS != "" {
			config := &tls.Config{Certificates: []tls.Certificate{certificate()}}
			switch of.Server.TLS {
			case "tls_1_2_only":
				config.MinVersion, config.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
			case "tls_1_1_only":
				config.MinVersion, config.MaxVersion = tls.VersionTLS11, tls.VersionTLS11
			case "require_client_certificate":
				config.MaxVersion, config.ClientAuth = tls.VersionTLS12, tls.RequireAnyClientCert
			}
			secure := tls.Server(conn, config)
			if secure.Handshake() != nil {
				conn.Close()
				return
			}
			conn = secure
		}
		if !one.Before {
			text := readRequest(conn)
			lock.Lock()
			seen = append(seen, object{"request_text": text})
			lock.Unlock()
		}
		time.Sleep(time.Duration(one.Delay) * time.Millisecond)
		bytes, _ := hex.DecodeString(one.Hex)
		_, _ = conn.Write([]byte(one.Raw + string(bytes) + strings.Repeat(one.Text, one.Count)))
		time.Sleep(time.Duration(one.Pause) * time.Millisecond)
		switch one.End {
		case "close":
			conn.Close()
		case "reset":
			_ = below.(*net.TCPConn).SetLinger(0)
			below.Close()
		}
	})
	defer end()
	lock.Lock()
	if given := withPort[serverIn](raw, port).Server; given != nil {
		replies = given.Replies
	}
	lock.Unlock()
	in = withPort[portsIn](raw, port)
	out, message := run(in, v1.ProbeHandler{HTTPGet: in.HTTP}, httpprober.OracleDial(nil), port)
	tell(out, "message", message)
	lock.Lock()
	defer lock.Unlock()
	if kind == "raw" && len(seen) != 1 {
		for _, one := range seen {
			one["request_text"] = withoutPort(one["request_text"].(string), port)
		}
		out["requests_seen"] = seen
	}
	return out
}
