"""Methods on a frozen encoder: images → features → bits → **memory/head → class**. One file each."""
