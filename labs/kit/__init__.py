"""What all lessons share: hardware models, virtual ranks, real ranks, exercises and pictures."""
