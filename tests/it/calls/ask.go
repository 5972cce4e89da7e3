// A server of HTTP and HTTPS on the loopback device, and a program that asks it.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// Writes its certificate to a file, says where it listens, and serves until its standard input ends.
func serve(file string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	form := x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "test"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		IPAddresses:  []net.IP{net.ParseIP("127.0.0.1")},
	}
	made, err := x509.CreateCertificate(rand.Reader, &form, &form, &key.PublicKey, key)
	if err != nil {
		return err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made})
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	bare, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	certificate := tls.Certificate{Certificate: [][]byte{made}, PrivateKey: key}
	answer := http.HandlerFunc(func(to http.ResponseWriter, asked *http.Request) {
		body, _ := io.ReadAll(asked.Body)
		to.Header().Set("Set-Cookie", "theme=dark")
		fmt.Fprintf(to, "%s %s %s", asked.Proto, asked.URL, body)
	})
	secure := &http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		Handler:   answer,
	}
	go http.Serve(plain, answer)
	go secure.ServeTLS(bare, "", "")
	fmt.Printf("http://%s https://%s\n", plain.Addr(), bare.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func ask(client *http.Client, to string) string {
	request, err := http.NewRequest("POST", to, strings.NewReader("{\"a\": 1}"))
	if err != nil {
		return err.Error()
	}
	request.Header.Set("Authorization", "Bearer t0ps3cr3t")
	answer, err := client.Do(request)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return fmt.Sprint(answer.Status, answer.Header, string(body), err)
}

func main() {
	if os.Args[1] == "serve" {
		if err := serve(os.Args[2]); err != nil {
			panic(err)
		}
		return
	}
	transport := &http.Transport{ForceAttemptHTTP2: true}
	// For addresses of this machine Go asks no proxy by itself.
	if proxy, err := url.Parse(os.Getenv("HTTP_PROXY")); err == nil && proxy.Host != "" {
		transport.Proxy = http.ProxyURL(proxy)
	}
	client := &http.Client{Timeout: 20 * time.Second, Transport: transport}
	for _, server := range os.Args[1:] {
		said := make([]string, 8)
		var all sync.WaitGroup
		for i := range said {
			all.Add(1)
			go func(i int) {
				defer all.Done()
				said[i] = ask(client, fmt.Sprintf("%s/many/%d?a=b", server, i))
			}(i)
		}
		all.Wait()
		fmt.Println(strings.Join(said, "\n"))
		fmt.Println(ask(client, server+"/again"), ask(client, server+"/again"))
	}
}
