package inside

