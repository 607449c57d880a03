import { describe, expect, test } from 'vitest';
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
});
