import { Dialog } from '../ui/dialog';

const KEYS: [string, string][] = [
  ['Ctrl K', 'Go to a container or action'],
  ['Ctrl Enter', 'Run the query (or the selected part), execute a procedure'],
  ['Ctrl S', 'Save the item, policy or script'],
  ['Alt N', 'New item'],
  ['Ctrl Space', 'Complete paths and functions in a query'],
  ['↑ ↓ ← →', 'Move in the tree and in lists; open and close databases'],
  ['Delete', 'Delete the selected item (with undo)'],
  ['Esc', 'Close; in an editor, then Tab leaves it'],
  ['?', 'This list'],
];

export function Shortcuts({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <table>
        <tbody>
          {KEYS.map(([keys, what]) => (
            <tr key={keys}>
              <th scope="row" style={{ textAlign: 'left', padding: '4px 20px 4px 0', fontWeight: 400 }}><kbd>{keys}</kbd></th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
