import { useState } from 'react';
import { Segmented } from '../ui/controls';
import type { ContainerProps } from './container_page';
import { LabCost } from './lab_cost';
import { Findings } from './lab_findings';
import { Relations } from './lab_relations';
import { WhatIfPanel } from './lab_what_if';

type View = 'findings' | 'what-if' | 'cost' | 'relations';

/// What the container's design costs, and what another one would.
export function Lab({ db, container }: ContainerProps) {
  const [view, setView] = useState<View>('findings');
  return (
    <div className="page" tabIndex={0} role="region" aria-label="Design Lab">
      <div className="inner">
        <div className="labviews"><Segmented label="View of the Design Lab" value={view} onChange={setView} options={[
          { value: 'findings', label: 'Findings' }, { value: 'what-if', label: 'What if' }, { value: 'cost', label: 'Cost' }, { value: 'relations', label: 'Embed or reference' },
        ]} /></div>
        {view === 'findings' && <Findings db={db} coll={container.id} />}
        {view === 'what-if' && <WhatIfPanel db={db} coll={container.id} />}
        {view === 'cost' && <LabCost db={db} coll={container.id} />}
        {view === 'relations' && <Relations db={db} coll={container.id} />}
      </div>
    </div>
  );
}
