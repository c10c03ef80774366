package main

import (
	"math/rand"
	"strconv"
	"strings"

	"k8s.io/component-base/version"

	"k8s.io/kubernetes/cmd/oracle/kube"
)

// odd is a text of some parts, most of them harmless.
func odd(r *rand.Rand, most int, parts ...string) string {
	text := &strings.Builder{}
	for count := r.Intn(most + 1); count > 0; count-- {
		text.WriteString(kube.Pick(r, parts...))
	}
	return text.String()
}

func built() object { return object{"major": version.Get().Major, "minor": version.Get().Minor} }

var pathParts = []string{
	"/", "/", "a", "healthz", "live", "?", "x=1", "&", "#", "%20", "%", "%zz", "%2F", " ", ":", "@", ";", "=", "é", "\"", "<", "{", "|", "\\",
	"^", "`", "[", "]", "..", ".", "~", "!", "$", "*", "'", "(", "+", ",", "//", "\t", "http://h/",
}

func randomHTTP(r *rand.Rand) any {
	if kube.OneIn(r, 2) {
		return randomResponse(r)
	}
	get := object{"path": odd(r, 6, pathParts...), "port": kube.Pick[any](r, 80, 8080, 443, 1+r.Intn(65535), "http", "admin", "80", "absent")}
	if r.Intn(3) > 0 {
		get["path"] = "/" + get["path"].(string)
	}
	if kube.OneIn(r, 30) {
		get["port"] = kube.Pick[any](r, 0, -1, 65536, "")
	}
	if kube.OneIn(r, 4) {
		get["host"] = kube.Pick(r, "example.com", "10.1.2.3", "::1", "fd00::1", "[::1]", "a b", "EXAMPLE.com", "é.example", "h:1", "%")
	}
	if kube.OneIn(r, 3) {
		get["scheme"] = kube.Pick(r, "HTTP", "HTTPS", "http", "https", "Https")
	}
	if kube.OneIn(r, 2) {
		list := []object{}
		for count := 1 + r.Intn(3); count > 0; count-- {
			list = append(list, object{
				"name": kube.Pick(r, "Host", "host", "User-Agent", "Accept", "accept-encoding", "Connection", "X-A", "x-a", "Content-Length",
					"Transfer-Encoding", "Authorization", "Cookie", "a_b", "Range", "TE", "Referer", "Trailer", "Upgrade"),
				"value": kube.Pick(r, "", "a", "close", "keep-alive", "gzip", "chunked", "5", " a ", "a,b", "é", "virtual.example.org", "text/html"),
			})
		}
		get["httpHeaders"] = list
	}
	ports := []object{{"name": "http", "containerPort": 1 + r.Intn(65535)}}
	if kube.OneIn(r, 2) {
		ports = append(ports, object{"name": "admin", "containerPort": 9901})
	}
	return object{
		"kind": "request", "http_get": get, "container_ports": ports, "kubelet_version": built(),
		"pod_ip": kube.Pick(r, "10.0.0.1", "192.168.4.5", "fd00::5", "::1"),
	}
}

// randomResponse is a server that answers once, or sends on to itself.
func randomResponse(r *rand.Rand) object {
	replies := []object{}
	for count := kube.Pick(r, 1, 1, 1, 2, 3); count > 0; count-- {
		end := "close"
		if kube.OneIn(r, 60) {
			end = "hold"
		}
		replies = append(replies, object{"raw_text": rawResponse(r), "end": end})
	}
	return object{
		"kind": "response", "pod_ip": "127.0.0.1", "timeout_seconds": 1, "server": object{"replies": replies},
		"http_get": object{"path": kube.Pick(r, "/", "/x", "/a/b?c=d"), "port": "{port}"},
	}
}

func rawResponse(r *rand.Rand) string {
	end := "\r\n"
	if kube.OneIn(r, 12) {
		end = "\n"
	}
	rare := func(usual string, others ...string) string {
		if r.Intn(12) > 0 {
			return usual
		}
		return kube.Pick(r, others...)
	}
	code := kube.Pick(r, "200", "200", "204", "302", "307", "304", "404", "503", strconv.Itoa(100+r.Intn(500)))
	text := rare("HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "http/1.1", "HTTP/1", "HTTP/1.10", "ICY", "", " HTTP/1.1")
	text += rare(" ", "  ", "\t", "") + rare(code, "20", "2000", "abc", "-20", "099", "000", "")
	text += rare(" OK", "", " ", " a b", " é", "OK") + end
	body := odd(r, 4, "ok", "fine\n", "no", "{}", "é", "\r\n", "0\r\n\r\n")
	length := rare(strconv.Itoa(len(body)), "0", "1", "99", "x", "-1", "+2", " 2", "2 ", "2, 2", "0x2", "", "18446744073709551616")
	if strings.HasPrefix(code, "3") && r.Intn(4) > 0 {
		text += "Location: " + kube.Pick(r, "/new", "?n=1", "new", "//127.0.0.1:{port}/b", "http://127.0.0.1:{port}/c", "http://example.com/",
			"http://127.0.0.1:1/", "", "/%zz", "#f", "mailto:a", "/é", "http://[::1]/") + end
	}
	switch r.Intn(5) {
	case 0:
		chunks := ""
		for count := r.Intn(3); count > 0; count-- {
			part := kube.Pick(r, "ok", "abc", "long text")
			chunks += rare(strconv.FormatInt(int64(len(part)), 16), "z", "", "1", "ffffffffffffffffff", "-1", "02") +
				rare("", ";a=b", " ", "; ") + "\r\n" + part + rare("\r\n", "", "\n")
		}
		text += rare("Transfer-Encoding: chunked", "transfer-encoding: Chunked", "Transfer-Encoding: gzip, chunked",
			"Transfer-Encoding: identity", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked") + end
		body = chunks + rare("0\r\n\r\n", "0\r\n", "", "0\r\nA: b\r\n\r\n", "0\r\nbad\r\n\r\n")
		if kube.OneIn(r, 8) {
			text += "Content-Length: " + length + end
		}
	case 1:
	default:
		text += rare("Content-Length", "content-length", "Content-Length ", "CONTENT-LENGTH") + ":" + rare(" ", "", "\t", "  ") + length + end
	}
	for count := r.Intn(3); count > 0; count-- {
		text += kube.Pick(r, "Content-Type: text/plain", "Connection: close", "Connection: keep-alive", "X-A: b", "Server: é", "Date: x",
			"Set-Cookie: a=b; c") + end
	}
	if kube.OneIn(r, 15) {
		text += kube.Pick(r, ": x", "A B: c", "Foo", " folded", "\tfolded", "A\x01: b", "A: \x01", "(a): b", "É: b", "A: b\rc") + end
	}
	if kube.OneIn(r, 30) {
		return text
	}
	return text + end + body
}

func randomTCP(r *rand.Rand) any {
	address := kube.Pick(r, "127.0.0.1", "127.0.0.1", "::1", "127.0.0.2")
	host := kube.Pick(r, "", "", "", address, "127.0.0.3", "localhost", "127.0.0.256", "a b", "[::1]", "::ffff:127.0.0.1")
	return object{
		"listener": kube.Pick(r, "accepts", "closes_at_once", "none"), "listener_address": address, "pod_ip": address, "timeout_seconds": 1,
		"container_ports": []object{{"name": "tcp", "containerPort": "{port}"}, {"name": "far", "containerPort": 70000}},
		"tcp_socket": object{
			"host": host, "port": kube.Pick[any](r, "{port}", "{port}", "{port}", "tcp", "absent", "\"{port}\"", "", 0, -1, 65536, "65536", "1a"),
		},
	}
}

func randomGRPC(r *rand.Rand) any {
	service := kube.Pick[any](r, nil, "", "liveness", "absent", "é", odd(r, 3, "a", ".", "/", " "))
	reply := object{}
	switch r.Intn(4) {
	case 0:
		reply["serving_status"] = r.Intn(6) - 1
	case 1:
		reply["services"] = object{"": r.Intn(4), "liveness": r.Intn(4)}
	default:
		reply["code"] = kube.Pick(r, 1+r.Intn(16), 17+r.Intn(200))
		reply["message"] = odd(r, 5, "a", " ", "%", "é", "\n", "\"", "\\", "context deadline exceeded", "50%", "\x7f", "日本", "\t", "%41")
	}
	in := object{
		"grpc": object{"port": "{port}", "service": service}, "kubelet_version": built(), "pod_ip": kube.Pick(r, "127.0.0.1", "::1"),
		"server": "health", "server_reply": reply, "timeout_seconds": kube.Pick(r, 1, 5),
	}
	if kube.OneIn(r, 12) {
		in["server"] = kube.Pick(r, "no_health_service", "closes_at_once", "http1", "none")
		delete(in, "server_reply")
	}
	return in
}
