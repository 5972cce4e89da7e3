import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Asks by name and by address, in each of the ways that Java has, and all at once. */
public class Client {
    static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    static HttpRequest request(String url) {
        return HttpRequest.newBuilder(URI.create(url)).build();
    }

    static String old(String url) throws Exception {
        HttpURLConnection connection = (HttpURLConnection) URI.create(url).toURL().openConnection();
        try (InputStream body = connection.getInputStream()) {
            return connection.getResponseCode() + " " + new String(body.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    static String raw(int port) throws Exception {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            socket.getOutputStream().write("GET /raw HTTP/1.1\r\nHost: raw\r\nConnection: close\r\n\r\n".getBytes());
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            socket.getInputStream().transferTo(all);
            String[] parts = all.toString(StandardCharsets.UTF_8).split("\r\n\r\n", 2);
            return parts.length == 2 ? parts[1] : "nothing";
        }
    }

    public static void main(String[] arguments) throws Exception {
        String port = arguments[0];
        System.out.println("option " + System.getProperty("client.option"));
        for (String host : List.of("localhost", "127.0.0.1", "127.0.0.1")) {
            HttpResponse<String> answer =
                    CLIENT.send(request("http://" + host + ":" + port + "/" + host), HttpResponse.BodyHandlers.ofString());
            System.out.println(answer.statusCode() + " " + answer.body());
        }
        System.out.println(old("http://localhost:" + port + "/old"));
        System.out.println(raw(Integer.parseInt(port)));
        List<CompletableFuture<HttpResponse<String>>> asked = IntStream.range(0, 20)
                .mapToObj(index -> CLIENT.sendAsync(
                        request("http://127.0.0.1:" + port + "/" + index), HttpResponse.BodyHandlers.ofString()))
                .collect(Collectors.toList());
        for (CompletableFuture<HttpResponse<String>> one : asked) {
            System.out.println(one.get().body());
        }
    }
}
