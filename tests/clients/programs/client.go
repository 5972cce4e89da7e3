// Asks by name and by address, one after the other and all at once, without the C library.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
)

func ask(url string) string {
	response, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(response.StatusCode, " ", string(body))
}

func main() {
	for _, host := range []string{"localhost", "127.0.0.1", "127.0.0.1"} {
		fmt.Println(ask("http://" + host + ":" + os.Args[1] + "/" + host))
	}
	var all sync.WaitGroup
	answers := make([]string, 20)
	for index := range answers {
		all.Add(1)
		go func(index int) {
			defer all.Done()
			answers[index] = ask(fmt.Sprintf("http://127.0.0.1:%s/%d", os.Args[1], index))
		}(index)
	}
	all.Wait()
	fmt.Println(answers)
}
