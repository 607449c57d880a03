import type { Places } from '@tessera/outbound';
import type { Client } from '@tessera/rpc';
import type { Runtime } from '@tessera/process';
import type { Limiter } from '@tessera/stores';
import type { AccountService } from '@tessera/proto-gen/account';
import type { AuthorizeService } from '@tessera/proto-gen/authorize';
import type { BackchannelAuthenticationService, DeviceAuthorizationService } from '@tessera/proto-gen/device';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { KeysService } from '@tessera/proto-gen/keys';
import type { IntrospectionService, TokenService } from '@tessera/proto-gen/token';
import type { Templates } from '@tessera/pages';
import type { GatewayConfig } from './config.ts';
import type { DeliveryModes } from './issuer/delivery-modes.ts';
import type { RelatedOrigins } from './issuer/related-origins.ts';
import type { IssuerRule } from './issuer/issuer-rule.ts';
import type { KeySets } from './issuer/key-set.ts';
import type { IssuerRouter } from './issuer/issuer-router.ts';
import type { Languages } from '@tessera/languages';
import type { TenantLooks } from './pages/looks/tenant-looks.ts';

/** The services the gateway calls. */
export interface GatewayPeers {
  readonly keys: Client<typeof KeysService>;
  readonly directory: Client<typeof DirectoryService>;
  readonly authorize: Client<typeof AuthorizeService>;
  readonly account: Client<typeof AccountService>;
  readonly token: Client<typeof TokenService>;
  readonly introspection: Client<typeof IntrospectionService>;
  readonly device: Client<typeof DeviceAuthorizationService>;
  readonly backchannel: Client<typeof BackchannelAuthenticationService>;
}

/** What every endpoint and page works with. */
export interface Gateway {
  readonly config: GatewayConfig;
  readonly peers: GatewayPeers;
  readonly runtime: Runtime;
  readonly issuer: IssuerRule;
  readonly tenants: IssuerRouter;
  readonly keySets: KeySets;
  readonly deliveryModes: DeliveryModes;
  readonly relatedOrigins: RelatedOrigins;
  readonly limiter: Limiter;
  /** Of requests that wait for servers of others. */
  readonly places: Places;
  readonly templates: Templates;
  readonly languages: Languages;
  readonly looks: TenantLooks;
}
