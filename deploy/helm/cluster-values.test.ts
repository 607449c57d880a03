import { describe, expect, test } from 'vitest';
import { valuesWithObjects } from '@tessera/cluster/objects/values';
import { valuesOf } from '@tessera/cluster/release';
import { render } from './chart.ts';

describe('The values of the cluster test', () => {
  const image = 'registry.example.com:5000/tessera:1.2.3';

  test.each([
    { topology: 'compact', deployments: 1 },
    { topology: 'split', deployments: 6 },
  ] as const)('render as $topology with the image under test', ({ topology, deployments }) => {
    const manifests = render(valuesOf('id', topology, image)).filter(({ kind }) => kind === 'Deployment');
    expect(manifests).toHaveLength(deployments);
    const images = manifests.flatMap(({ spec }) => spec.template?.spec.containers ?? []);
    expect(new Set(images.map((each) => (each as { image?: string }).image))).toEqual(new Set([image]));
  });

  test('keep a digest', () => {
    const digest = `sha256:${'0'.repeat(64)}`;
    const [pod] = render(valuesOf('id', 'compact', `tessera@${digest}`)).filter(
      ({ kind }) => kind === 'Deployment',
    );
    expect(JSON.stringify(pod)).toContain(`tessera@${digest}`);
  });

  test.each(['compact', 'split'] as const)('render with the controller in %s', (topology) => {
    const namespaces = { own: 'id', shop: 'id-shop', stock: 'id-stock', elsewhere: 'id-elsewhere' };
    const others = { clusterIssuer: 'https://cluster.example', otherIssuer: 'https://builder.id-stock' };
    const objects = valuesWithObjects({ namespaces, ...others, entrance: '10.0.0.1' });
    const pod = render(valuesOf('id', topology, image), objects).find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'release-tessera-controller',
    )?.spec.template?.spec;
    expect(pod).toMatchObject({ hostAliases: [{ ip: '10.0.0.1', hostnames: ['id.example.test'] }] });
    const mapped = {
      name: 'TESSERA_CONTROLLER_NAMESPACES',
      value: 'id-elsewhere=globex,id-shop=acme,id-stock=acme',
    };
    expect(pod?.containers[0]?.env).toContainEqual(mapped);
    expect(JSON.stringify(pod?.volumes)).toContain(topology === 'compact' ? '"token-tls"' : '"admin-tls"');
  });
});
