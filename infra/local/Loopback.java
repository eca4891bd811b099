import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import software.amazon.dynamodb.services.local.main.ServerRunner;

/** DynamoDB Local on 127.0.0.1: its own main class has no such option, and listens on every interface. */
class Loopback {
    public static void main(String[] arguments) throws Exception {
        var local = ServerRunner.createServerFromCommandLineArgs(arguments);
        var field = local.getClass().getDeclaredField("server");
        field.setAccessible(true);
        var connector = (ServerConnector) ((Server) field.get(local)).getConnectors()[0];
        connector.setHost("127.0.0.1");
        local.start();
    }
}
