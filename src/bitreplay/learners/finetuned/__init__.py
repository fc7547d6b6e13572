"""Methods that train the whole network in every task: **images → features → head → class**. One file each."""
