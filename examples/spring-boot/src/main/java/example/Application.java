package example;

import static org.springframework.security.config.Customizer.withDefaults;

import java.time.Duration;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.Order;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.client.OAuth2AuthorizationContext;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClient;
import org.springframework.security.oauth2.client.RefreshTokenOAuth2AuthorizedClientProvider;
import org.springframework.security.oauth2.client.annotation.RegisteredOAuth2AuthorizedClient;
import org.springframework.security.oauth2.client.oidc.web.logout.OidcClientInitiatedLogoutSuccessHandler;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.core.Authentication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;

/** A client with a sign-in, and two resource servers: /jwt verifies access tokens, /opaque introspects them. */
@SpringBootApplication
@RestController
public class Application {
  public static void main(String[] args) {
    SpringApplication.run(Application.class, args);
  }

  @Bean
  @Order(1)
  SecurityFilterChain jwt(HttpSecurity http) throws Exception {
    return http.securityMatcher("/jwt")
        .authorizeHttpRequests(requests -> requests.anyRequest().hasAuthority("SCOPE_orders.read"))
        .oauth2ResourceServer(server -> server.jwt(withDefaults()))
        .build();
  }

  @Bean
  @Order(2)
  SecurityFilterChain opaque(HttpSecurity http) throws Exception {
    return http.securityMatcher("/opaque")
        .authorizeHttpRequests(requests -> requests.anyRequest().hasAuthority("SCOPE_orders.read"))
        .oauth2ResourceServer(server -> server.opaqueToken(withDefaults()))
        .build();
  }

  @Bean
  SecurityFilterChain client(HttpSecurity http, ClientRegistrationRepository registrations) throws Exception {
    var signOut = new OidcClientInitiatedLogoutSuccessHandler(registrations);
    signOut.setPostLogoutRedirectUri("{baseUrl}/");
    return http.authorizeHttpRequests(requests -> requests.anyRequest().authenticated())
        .oauth2Login(withDefaults())
        .logout(logout -> logout.logoutSuccessHandler(signOut))
        .build();
  }

  @GetMapping({"/jwt", "/opaque"})
  String api(Authentication caller) {
    return caller.getName();
  }

  @GetMapping("/")
  Map<String, Object> home(@AuthenticationPrincipal OidcUser user) {
    return user.getClaims();
  }

  /** Refreshes long before the access token expires, which Spring does once it has, and calls both APIs. */
  @GetMapping("/refresh")
  Map<String, String> refresh(
      @RegisteredOAuth2AuthorizedClient("tessera") OAuth2AuthorizedClient client, Authentication user) {
    var provider = new RefreshTokenOAuth2AuthorizedClientProvider();
    provider.setClockSkew(Duration.ofHours(1));
    var refreshed =
        provider.authorize(OAuth2AuthorizationContext.withAuthorizedClient(client).principal(user).build());
    var token = refreshed.getAccessToken().getTokenValue();
    var api =
        RestClient.builder()
            .baseUrl("http://localhost:19400")
            .defaultHeaders(headers -> headers.setBearerAuth(token))
            .build();
    return Map.of(
        "token", token,
        "jwt", api.get().uri("/jwt").retrieve().body(String.class),
        "opaque", api.get().uri("/opaque").retrieve().body(String.class));
  }
}
